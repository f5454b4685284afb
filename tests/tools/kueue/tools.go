//go:build tools

// Package tools names the program to build, so that `go mod tidy` keeps what it needs.
package tools

import _ "sigs.k8s.io/kueue/cmd/kueue"
