package main

import (
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
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
	Limit      int    `default:"200" placeholder:"N" help:"How many names and clients to show at once."`
	Name       string `placeholder:"NAME" help:"For what doctor tries: see redlock doctor --help."`
	fleetFlags
}

// Run serves the page until a signal comes.
func (u *uiCmd) Run(std streams, from origins) error {
	if u.Limit < 1 {
		return fail(exitUsage, "--limit: %d is not a number from 1 on", u.Limit)
	}
	examined, err := u.config(u.lookLease(), from, io.Discard)
	if err != nil {
		return err
	}
	server := newUI(u.AllowForce, u.Limit)
	server.examine = func(ctx context.Context) (doctor.Report, error) { return doctor.Examine(ctx, examined, u.Name) }
	u.trace = server.masters.trace()
	if server.client, err = u.openToLook(from, std.err); err != nil {
		return err
	}
	defer closeSoon(server.client)
	if host, _, err := net.SplitHostPort(u.Listen); err != nil || !loopback(host) {
		return fail(exitUsage, "--listen: %q is no address of the loopback, such as 127.0.0.1:7380 or localhost:0; to see the page from elsewhere, forward the port: ssh -L 7380:127.0.0.1:7380 HOST", u.Listen)
	}
	listener, err := net.Listen("tcp", u.Listen)
	if err != nil {
		return fail(exitUsage, "--listen: %w", err)
	}
	ended, release := interruptible()
	defer release()
	if _, err := fmt.Fprintf(std.out, "http://%s/\n", listener.Addr()); err != nil {
		return err
	}
	web := &http.Server{Handler: server.handler(), ReadHeaderTimeout: 5 * time.Second}
	served := make(chan error, 1)
	go func() { served <- web.Serve(listener) }() // until Close
	defer web.Close()
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
	turn    chan struct{} // has one token, which a page takes to ask the masters: one asks, however many look

	mu       sync.Mutex
	view     uiView    // of the last look
	last     *uiLook   // which is fresh
	next     time.Time // until then, when the masters may be asked again
	examined sync.Mutex
}

func newUI(force bool, limit int) *uiServer {
	s := &uiServer{force: force, limit: limit, turn: make(chan struct{}, 1)}
	s.turn <- struct{}{}
	return s
}

// uiView is what a look depends on, whatever else the page shows.
type uiView struct{ pattern, after string }

//go:embed ui
var uiFiles embed.FS

// handler serves the page and what it asks for.
//
// A page of another site must not use it. A browser would let it try, and nobody is asked for a password here. So such a
// page can neither make it ask the masters nor send a POST. And the name in a request must be one of the loopback, or a
// site could give its own name that address.
func (s *uiServer) handler() http.Handler {
	files, _ := fs.Sub(uiFiles, "ui") // the folder is embedded
	mux := http.NewServeMux()
	mux.Handle("GET /", http.FileServerFS(files))
	mux.HandleFunc("GET /masters", s.serveMasters)
	mux.HandleFunc("GET /look", func(w http.ResponseWriter, r *http.Request) {
		switch r.Header.Get("Sec-Fetch-Site") { // which all browsers send by now
		case "", "none", "same-origin":
			s.serveLook(w, r)
		default:
			http.Error(w, "redlock ui is for its own page", http.StatusForbidden)
		}
	})
	mux.HandleFunc("POST /doctor", s.serveDoctor)
	mux.HandleFunc("POST /force", s.serveForce)
	guarded := http.NewCrossOriginProtection().Handler(mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = strings.Trim(r.Host, "[]") // of IPv6
		}
		if !loopback(host) {
			http.Error(w, "redlock ui is for localhost", http.StatusForbidden)
			return
		}
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		r.Body = http.MaxBytesReader(w, r.Body, mostBody)
		guarded.ServeHTTP(w, r)
	})
}

// serveMasters says how the masters are. The client knows that without asking, so pages may ask often.
func (s *uiServer) serveMasters(w http.ResponseWriter, _ *http.Request) {
	masters := s.masters.list()
	how, verdict := healthOf(masters, time.Now())
	answer(w, map[string]any{"how": how, "verdict": verdict, "masters": masters})
}

// healthOf judges the masters at that time, by how many can grant a lock.
func healthOf(masters []uiMaster, now time.Time) (standing, string) {
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
	return how, begin + words + "."
}

// uiLook is what the masters say. A part for which too few of them answered is null.
type uiLook struct {
	Force   bool         `json:"force"` // locks may be freed
	List    *listJSON    `json:"list"`
	Clients *clientsJSON `json:"clients"`        // some of them
	Total   int          `json:"total"`          // how many clients there are
	Name    any          `json:"name,omitempty"` // what inspect --json prints
	Line    []waiter     `json:"line,omitempty"` // who waits for the name: one queue of those of the masters
}

// A page asks for a look every half second, and less often where the masters take long.
const (
	lookPause = 500 * time.Millisecond
	mostPause = 5 * time.Second
)

// mostBody bounds the bytes of a request that are read: the owners of all permits of a name need less.
const mostBody = 1 << 20

// uiSets bounds how many sets of masters, and pairs of them that are not safe, a page shows.
const uiSets = 26

// serveLook says what is held and by whom, who uses the masters, and who has the name in the request. It lists the names
// after the field after, and the clients after the first skip ones, as many as the page shows at once.
func (s *uiServer) serveLook(w http.ResponseWriter, r *http.Request) {
	skip, err := strconv.Atoi(cmp.Or(r.FormValue("skip"), "0"))
	if err != nil || skip < 0 {
		http.Error(w, "skip is a number of clients", http.StatusBadRequest)
		return
	}
	seen := s.see(r.Context(), uiView{cmp.Or(r.FormValue("pattern"), "*"), r.FormValue("after")})
	if seen == nil {
		return // nobody waits for it any more
	}
	look := *seen
	if look.Clients != nil {
		part := *look.Clients
		look.Total = len(part.Clients)
		skip = min(skip, look.Total)
		part.Clients = part.Clients[skip:]
		part.Clients = part.Clients[:min(s.limit, len(part.Clients))]
		look.Clients = &part
	}
	if name := r.FormValue("name"); name != "" {
		ctx, cancel := context.WithTimeout(r.Context(), lookLimit)
		defer cancel()
		seen := lookAt(ctx, s.client, name, r.FormValue("permits") != "")
		look.Name, look.Line = seen.report, eachAs(inLine(seen.queues), func(q queued) waiter { return waiterAsJSON(q.Waiter) })
	}
	answer(w, look)
}

// see returns what the masters say, or said lately; nil if ctx has ended.
//
// Views take turns, with a pause behind each, so that two of them cost the masters no more than one does.
func (s *uiServer) see(ctx context.Context, v uiView) *uiLook {
	if look := s.fresh(v); look != nil {
		return look
	}
	select {
	case <-s.turn:
		defer func() { s.turn <- struct{}{} }()
	case <-ctx.Done():
		return nil
	}
	if look := s.fresh(v); look != nil {
		return look // of a page whose turn was before ours
	}
	select {
	case <-time.After(time.Until(s.next)): // which changes in our turn alone
	case <-ctx.Done():
		return nil
	}
	// Others may get the answer, too, so the look does not end with this page.
	began := time.Now()
	all, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookLimit)
	defer cancel()
	look := s.look(all, v)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.view, s.last, s.next = v, look, time.Now().Add(min(mostPause, max(lookPause, 4*time.Since(began))))
	return look
}

// fresh returns the last look if it is of that view, and not old. A look of another view was before that one, so it is old.
func (s *uiServer) fresh(v uiView) *uiLook {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.view != v || !time.Now().Before(s.next) {
		return nil
	}
	return s.last
}

// look asks the masters for what every page with that view shows.
func (s *uiServer) look(ctx context.Context, v uiView) *uiLook {
	look := &uiLook{Force: s.force}
	var asking sync.WaitGroup
	asking.Go(func() {
		if all, err := listed(ctx, s.client, v.pattern, v.after, s.limit); err == nil {
			report := listReport(all)
			look.List = &report
		}
	})
	asking.Go(func() {
		if all, err := redlockadmin.Of(s.client).Clients(ctx); err == nil {
			sets := setsInUse(all)
			report := clientsReport(all, sets[:min(len(sets), uiSets)])
			report.Pairs = slices.DeleteFunc(report.Pairs, func(p pairJSON) bool { return p.Safe })
			report.Pairs = report.Pairs[:min(len(report.Pairs), uiSets)]
			look.Clients = &report
		}
	})
	asking.Wait()
	return look
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
	answer(w, map[string]any{"how": how, "verdict": verdict, "report": report})
}

// serveForce frees a lock, or all permits of a name, if its owners are among the fields owner: those that the page showed.
// An owner that gets it after serveForce has looked loses it, too.
func (s *uiServer) serveForce(w http.ResponseWriter, r *http.Request) {
	if !s.force {
		http.Error(w, "start redlock ui with --allow-force to free locks", http.StatusForbidden)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), lookLimit)
	defer cancel()
	admin := redlockadmin.Of(s.client)
	free, permits, name := admin.ForceUnlock, r.FormValue("permits") != "", r.FormValue("name")
	if permits {
		free = admin.ForceRelease
	}
	seen := lookAt(ctx, s.client, name, permits)
	if seen.err != nil {
		http.Error(w, plain(seen.err), http.StatusBadGateway)
		return
	}
	if slices.ContainsFunc(seen.owners, func(owner string) bool { return !slices.Contains(r.Form["owner"], owner) }) {
		http.Error(w, "not freed: somebody else has it by now", http.StatusConflict)
		return
	}
	freed, err := free(ctx, name)
	if err != nil {
		http.Error(w, plain(err), http.StatusBadGateway)
		return
	}
	answer(w, map[string]any{"freed": freed})
}

// answer writes what in JSON. An error means that the page is gone.
func answer(w http.ResponseWriter, what any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(what)
}

// uiMaster is how a master is.
type uiMaster struct {
	Master string             `json:"master"`
	State  redlocktrace.State `json:"state"` // empty: not reached yet
	Since  time.Time          `json:"since"`
	Why    string             `json:"why,omitempty"`  // it cannot grant locks
	Until  time.Time          `json:"until,omitzero"` // when its guard ends
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

// set replaces what was known of a master.
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
