package docs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"example.com/redlock/doctor"
	"example.com/redlock/redlock"
)

var (
	client                 *redlock.Client
	hold                   *redlock.Hold
	masters, first, second []string
)

func ship(context.Context, int64) error { return nil }
