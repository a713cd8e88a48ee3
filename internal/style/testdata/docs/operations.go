package docs

import (
	"context"
	"os"
	"strings"

	"example.com/redlock/redlock"
)
