module github.com/dorisload/benthos-doris

go 1.26.6

require (
	github.com/klauspost/cpuid/v2 v2.2.10 // indirect
	github.com/redpanda-data/benthos/v4 v4.80.0 // indirect
	github.com/stretchr/testify v1.12.1 // indirect
	github.com/zeebo/xxh3 v1.1.0 // indirect
	go.uber.org/goleak v1.3.0 // indirect
	golang.org/x/sys v0.47.0 // indirect
)
