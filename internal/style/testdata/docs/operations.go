package docs

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)
