//go:build tools

// Package tools names the program that `make tools` builds, so that go.sum pins it.
package tools

import _ "github.com/yannh/kubeconform/cmd/kubeconform"
