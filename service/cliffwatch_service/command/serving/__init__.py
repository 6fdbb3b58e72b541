"""What `cliffwatch serve` becomes once its options are read: a process without the libraries of the command line."""
