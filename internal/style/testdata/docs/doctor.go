package docs

import (
	"context"
	"fmt"

	"example.com/redlock/doctor"
	"example.com/redlock/redlock"
)

var masters []string
