package docs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

type handler struct {
	client *redlock.Client
	ship   func(ctx context.Context, order string, token int64) error
}

const budget = time.Second

var (
	client *redlock.Client
	server *http.Server
	served chan error
	h      *handler
	w      http.ResponseWriter
	r      *http.Request
	err    error
)

func refuse(http.ResponseWriter, error) {}
