"""The process of `cliffwatch serve` after it has read its options, without the command line's libraries."""
