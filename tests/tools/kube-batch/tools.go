//go:build tools

// Package tools names the program to build, so that `go mod tidy` keeps what it needs.
package tools

import _ "github.com/kubernetes-sigs/kube-batch/cmd/kube-batch"
