package main

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os/signal"
	"slices"
	"sync"
	"time"

	"example.com/redlock/doctor"
	"example.com/redlock/redlock"
	"example.com/redlock/redlockadmin"
	"example.com/redlock/redlocktrace"
)

type uiCmd struct {
	Listen     string `default:"127.0.0.1:7380" placeholder:"HOST:PORT" help:"Where to serve the page: an address of this machine's loopback. Port 0 chooses one that is free."`
	AllowForce bool   `help:"Let the page free locks, whoever holds them. Without it, the page only looks."`
	Limit      int    `default:"200" placeholder:"N" help:"How many names to list at most."`
	Name       string `placeholder:"NAME" help:"For what doctor tries: see redlock doctor --help."`
	fleetFlags
}

// Run serves the page until a signal comes.
func (u *uiCmd) Run(std streams, from origins) error {
	if u.Limit < 1 {
		return fail(exitUsage, "--limit: %d is not a number from 1 on", u.Limit)
	}
	examined, err := u.config(defaultLease, from, io.Discard)
	if err != nil {
		return err
	}
	server := &uiServer{force: u.AllowForce, limit: u.Limit}
	server.examine = func(ctx context.Context) (doctor.Report, error) { return doctor.Examine(ctx, examined, u.Name) }
	u.trace = server.masters.trace()
	if server.client, err = u.openToLook(from, std.err); err != nil {
		return err
	}
	defer closeWithin(server.client, unlockLimit)
	if host, _, err := net.SplitHostPort(u.Listen); err != nil || !loopback(host) {
		return fail(exitUsage, "--listen: %q is no address of the loopback, such as 127.0.0.1:7380 or localhost:0; to see the page from elsewhere, forward the port: ssh -L", u.Listen)
	}
	listener, err := net.Listen("tcp", u.Listen)
	if err != nil {
		return fail(exitUsage, "--listen: %w", err)
	}
	signals := listen(false)
	defer signal.Stop(signals)
	if _, err := fmt.Fprintf(std.out, "http://%s/\n", listener.Addr()); err != nil {
		return err
	}
	web := &http.Server{Handler: server.handler(), ReadHeaderTimeout: 5 * time.Second}
	served := make(chan error, 1)
	go func() { served <- web.Serve(listener) }() // until Close
	defer web.Close()
	ended, release := untilSignal(signals)
	defer release()
	select {
	case err := <-served:
		return fail(exitSoftware, "%w", err)
	case <-ended.Done():
		return bySignal(ended)
	}
}

// loopback reports whether host is this machine, and only from itself.
func loopback(host string) bool {
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

// uiServer answers the page.
type uiServer struct {
	client  *redlock.Client
	examine func(context.Context) (doctor.Report, error)
	force   bool
	limit   int
	masters uiMasters

	mu       sync.Mutex // held while the masters are asked: however many look, they are asked by one
	last     uiLook
	at       time.Time // when the masters had answered for last
	pattern  string    // of last
	examined sync.Mutex
}

//go:embed ui
var uiFiles embed.FS

// handler serves the page and what it asks for.
//
// A page of another site must not use it, which a browser would let it try: nobody is asked for a
// password here. Such a page can neither read an answer nor send a POST, and the name by which it was
// reached must be that of the loopback, or a site could give its own name that address.
func (s *uiServer) handler() http.Handler {
	files, _ := fs.Sub(uiFiles, "ui") // the folder is embedded
	mux := http.NewServeMux()
	mux.Handle("GET /", http.FileServerFS(files))
	mux.HandleFunc("GET /masters", s.serveMasters)
	mux.HandleFunc("GET /look", s.serveLook)
	mux.HandleFunc("POST /doctor", s.serveDoctor)
	mux.HandleFunc("POST /force", s.serveForce)
	guarded := http.NewCrossOriginProtection().Handler(mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if !loopback(host) {
			http.Error(w, "redlock ui is for localhost", http.StatusForbidden)
			return
		}
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		guarded.ServeHTTP(w, r)
	})
}

// uiHealth is how the masters are, as the client knows without asking.
type uiHealth struct {
	How     standing   `json:"how"`
	Verdict string     `json:"verdict"` // the same in words
	Masters []uiMaster `json:"masters"`
}

// serveMasters tells how the masters are. That costs them nothing, so pages ask often.
func (s *uiServer) serveMasters(w http.ResponseWriter, _ *http.Request) {
	answer(w, healthOf(s.masters.list(), time.Now()))
}

// healthOf counts the masters that can grant a lock at that time.
func healthOf(masters []uiMaster, now time.Time) uiHealth {
	granting := 0
	for _, m := range masters {
		switch m.State {
		case redlocktrace.StateUp, redlocktrace.StateGranting, redlocktrace.StateSteady, redlocktrace.StateBehind:
			if !m.Until.After(now) {
				granting++
			}
		}
	}
	how, words := standingOf(granting, len(masters))
	begin := map[standing]string{well: "All is well: ", strained: "Locks work, but ", none: "No locks: "}[how]
	return uiHealth{how, begin + words + ".", masters}
}

// uiLook is what the masters say. What too few of them answered for is null.
type uiLook struct {
	Force   bool         `json:"force"` // locks may be freed
	List    *listJSON    `json:"list"`
	Clients *clientsJSON `json:"clients"`
	Name    any          `json:"name,omitempty"` // what inspect --json prints
	Line    []waiter     `json:"line,omitempty"` // who waits for the name: one queue of those of the masters
}

// lookAge is how old an answer may be that one more page gets.
const lookAge = 400 * time.Millisecond

// serveLook tells what is held, by whom, who uses the masters, and who has the name that was asked for.
func (s *uiServer) serveLook(w http.ResponseWriter, r *http.Request) {
	// Others may get the answer, too, so it does not end with this page.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), lookLimit)
	defer cancel()
	pattern := r.FormValue("pattern")
	if pattern == "" {
		pattern = "*"
	}
	s.mu.Lock()
	if s.pattern != pattern || time.Since(s.at) > lookAge {
		s.last, s.at, s.pattern = s.look(ctx, pattern), time.Now(), pattern
	}
	look := s.last
	s.mu.Unlock()
	if name := r.FormValue("name"); name != "" {
		seen := lookAt(ctx, s.client, name, r.FormValue("permits") != "")
		look.Name, look.Line = seen.report, eachAs(inLine(seen.queues), func(q queued) waiter { return waiterAsJSON(q.Waiter) })
	}
	answer(w, look)
}

// look asks the masters for what all pages show.
func (s *uiServer) look(ctx context.Context, pattern string) uiLook {
	look := uiLook{Force: s.force}
	var asking sync.WaitGroup
	asking.Go(func() {
		if all, err := listed(ctx, s.client, pattern, s.limit); err == nil {
			report := listReport(all)
			look.List = &report
		}
	})
	asking.Go(func() {
		if all, err := redlockadmin.Of(s.client).Clients(ctx); err == nil {
			report := clientsReport(all, setsInUse(all))
			look.Clients = &report
		}
	})
	asking.Wait()
	return look
}

// uiExamined is what doctor found.
type uiExamined struct {
	How     standing      `json:"how"`
	Verdict string        `json:"verdict"`
	Report  doctor.Report `json:"report"`
}

// serveDoctor examines the masters, for one page at a time.
func (s *uiServer) serveDoctor(w http.ResponseWriter, r *http.Request) {
	s.examined.Lock()
	defer s.examined.Unlock()
	ctx, cancel := context.WithTimeout(r.Context(), lookLimit)
	defer cancel()
	report, err := s.examine(ctx)
	if err != nil {
		http.Error(w, plain(err), http.StatusInternalServerError)
		return
	}
	how, verdict := judged(report)
	answer(w, uiExamined{how, verdict, report})
}

// serveForce frees a lock, or all permits of a name.
func (s *uiServer) serveForce(w http.ResponseWriter, r *http.Request) {
	if !s.force {
		http.Error(w, "start redlock ui with --allow-force to free locks", http.StatusForbidden)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), lookLimit)
	defer cancel()
	admin := redlockadmin.Of(s.client)
	free := admin.ForceUnlock
	if r.FormValue("permits") != "" {
		free = admin.ForceRelease
	}
	freed, err := free(ctx, r.FormValue("name"))
	if err != nil {
		http.Error(w, plain(err), http.StatusBadGateway)
		return
	}
	answer(w, map[string]bool{"freed": freed})
}

// answer writes what in JSON. Who does not read it any more misses nothing.
func answer(w http.ResponseWriter, what any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(what)
}

// uiMaster is how a master is.
type uiMaster struct {
	Master string             `json:"master"`
	State  redlocktrace.State `json:"state"` // empty: it was not reached yet
	Since  time.Time          `json:"since"`
	Why    string             `json:"why,omitempty"`  // it is no good
	Until  time.Time          `json:"until,omitzero"` // it grants nothing
}

// uiMasters are kept up by the client's trace.
type uiMasters struct {
	mu  sync.Mutex
	all []uiMaster
}

func (u *uiMasters) trace() *redlocktrace.Trace {
	return &redlocktrace.Trace{
		ClientChanged: func(e redlocktrace.ClientChanged) {
			for _, name := range e.Masters {
				u.set(uiMaster{Master: name, Since: e.Time})
			}
		},
		MasterChanged: func(e redlocktrace.MasterChanged) {
			m := uiMaster{Master: e.Master, State: e.State, Since: e.Time}
			if e.Err != nil {
				m.Why = plain(errors.New(bare(e.Err, e.Master)))
			}
			if e.Guard > 0 {
				m.Until = e.Time.Add(e.Guard)
			}
			u.set(m)
		},
	}
}

// set takes the place of what was known of a master.
func (u *uiMasters) set(m uiMaster) {
	u.mu.Lock()
	defer u.mu.Unlock()
	i := slices.IndexFunc(u.all, func(old uiMaster) bool { return old.Master == m.Master })
	if i < 0 {
		i, u.all = len(u.all), append(u.all, m)
	}
	u.all[i] = m
}

func (u *uiMasters) list() []uiMaster {
	u.mu.Lock()
	defer u.mu.Unlock()
	return append([]uiMaster{}, u.all...)
}
