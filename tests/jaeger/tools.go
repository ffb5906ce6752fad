//go:build tools

// The Jaeger that `weave export --to otlp` is judged by, from the Go module proxy.
package tools

import _ "github.com/jaegertracing/jaeger/cmd/all-in-one"
