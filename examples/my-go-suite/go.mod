module example.org/my-go-suite

go 1.22
