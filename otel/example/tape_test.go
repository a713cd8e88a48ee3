package main

import (
	"context"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"

	"example.com/redlock/internal/check"
)

// every is how often the tests scrape, as Prometheus does by default in many set-ups.
const every = 15 * time.Second

// A tape has the samples that Prometheus would have after scraping a program every 15 s, and answers
// queries with Prometheus's own engine.
type tape struct {
	start, end time.Time
	series     map[uint64]*series
}

// series is one time series.
type series struct {
	labels  labels.Labels
	samples []chunks.Sample
}

// scrape reads what handler serves, and keeps it as of now. A series that is no longer there ends, as
// it does in Prometheus.
func (tp *tape) scrape(t *testing.T, handler http.Handler) {
	t.Helper()
	now := time.Now()
	if tp.series == nil {
		tp.series, tp.start = map[uint64]*series{}, now
	}
	tp.end = now
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	seen := map[uint64]bool{}
	for _, sample := range parse(t, answer.Body.String(), now) {
		metric := labels.NewBuilder(labels.EmptyLabels())
		for name, value := range sample.Metric {
			metric.Set(string(name), string(value))
		}
		metric.Set("job", "orders")
		metric.Set("instance", "host-7:8080")
		set := metric.Labels()
		seen[set.Hash()] = true
		s := tp.series[set.Hash()]
		if s == nil {
			s = &series{labels: set}
			tp.series[set.Hash()] = s
		}
		s.samples = append(s.samples, point{now.UnixMilli(), float64(sample.Value)})
	}
	for hash, s := range tp.series {
		if !seen[hash] && !value.IsStaleNaN(s.samples[len(s.samples)-1].F()) {
			s.samples = append(s.samples, point{now.UnixMilli(), math.Float64frombits(value.StaleNaN)})
		}
	}
}

// parse reads the exposition with the Prometheus client's own parser, which refuses what is not well
// formed.
func parse(t *testing.T, text string, at time.Time) model.Vector {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatalf("the exposition does not parse: %v\n%s", err, text)
	}
	var all model.Vector
	for _, family := range families {
		samples, err := expfmt.ExtractSamples(&expfmt.DecodeOptions{Timestamp: model.TimeFromUnixNano(at.UnixNano())}, family)
		check.OK(t, err, "family %s", family.GetName())
		all = append(all, samples...)
	}
	return all
}

// query evaluates expr every 15 s over the whole tape.
func (tp *tape) query(t *testing.T, expr string) promql.Matrix {
	t.Helper()
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1e7, Timeout: time.Minute, LookbackDelta: 5 * time.Minute})
	defer engine.Close()
	queryable := &storage.MockQueryable{MockQuerier: &storage.MockQuerier{SelectMockFunction: tp.matching}}
	query, err := engine.NewRangeQuery(context.Background(), queryable, nil, expr, tp.start, tp.end, every)
	check.OK(t, err, "%s", expr)
	defer query.Close()
	result := query.Exec(context.Background())
	matrix, err := result.Matrix()
	check.OK(t, err, "%s", expr)
	for _, warning := range result.Warnings {
		t.Errorf("%s: %v", expr, warning)
	}
	return slices.Clone(matrix)
}

// names are the metrics that the tape has.
func (tp *tape) names() map[string]bool {
	names := map[string]bool{}
	for _, s := range tp.series {
		names[s.labels.Get(model.MetricNameLabel)] = true
	}
	return names
}

// matching returns the series that a query asks for, sorted.
func (tp *tape) matching(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	var found []storage.Series
	for _, s := range tp.series {
		if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(s.labels.Get(m.Name)) }) {
			found = append(found, storage.NewListSeries(s.labels, s.samples))
		}
	}
	slices.SortFunc(found, func(a, b storage.Series) int { return labels.Compare(a.Labels(), b.Labels()) })
	return &set{found: found, at: -1}
}

// set implements [storage.SeriesSet].
type set struct {
	found []storage.Series
	at    int
}

func (s *set) Next() bool                        { s.at++; return s.at < len(s.found) }
func (s *set) At() storage.Series                { return s.found[s.at] }
func (s *set) Err() error                        { return nil }
func (s *set) Warnings() annotations.Annotations { return nil }

// point implements [chunks.Sample].
type point struct {
	at    int64 // ms
	value float64
}

func (p point) T() int64                      { return p.at }
func (p point) ST() int64                     { return 0 }
func (p point) F() float64                    { return p.value }
func (p point) H() *histogram.Histogram       { return nil }
func (p point) FH() *histogram.FloatHistogram { return nil }
func (p point) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (p point) Copy() chunks.Sample           { return p }
