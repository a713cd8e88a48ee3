//module otel

package docs

import (
	"context"

	otelredlock "example.com/redlock/otel"
	"example.com/redlock/redlock"
)

var masters []string
