package docs

import (
	"context"
	"os"
	"time"

	"github.com/gomodule/redigo/redis"
)
