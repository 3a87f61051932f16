//go:build tools

// Package tools names the program that `make tools` builds, so that go.sum pins it.
package tools

import _ "sigs.k8s.io/kustomize/kustomize/v5"
