package main

import (
	"image/color"
	"regexp"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// chart is a picture of one figure in some trials of a scenario.
type chart struct {
	name, title string
	scenario    string
	settings    *regexp.Regexp // matches the trials' settings; its group is the label on the x axis
	axis        string         // label of the x axis
	figure      string
}

var charts = []chart{
	{"uncontended", "Acquire of a free lock, median", "uncontended", regexp.MustCompile(`^(1)$`), "", "acquire p50"},
	{"parallel", "Locks per second on distinct names", "parallel", regexp.MustCompile(`^(\d+)$`), "goroutines", "throughput"},
	{"majority", "Acquire of a free lock, median", "majority", regexp.MustCompile(`^(\d+)x1$`), "masters", "acquire p50"},
	{"handoff", "From Unlock until another client has the lock, median", "handoff", regexp.MustCompile(`^(2)$`), "", "hand-off p50"},
	{"contended-throughput", "Locks per second on one name, empty sections", "contended", regexp.MustCompile(`^(\d+)x0ms$`), "clients", "throughput"},
	{"contended-wait", "Longest wait, empty sections", "contended", regexp.MustCompile(`^(\d+)x0ms$`), "clients", "wait max"},
	{"frozen", "Acquire while masters hang, median", "frozen", regexp.MustCompile(`^(\d)$`), "masters frozen", "acquire p50"},
	{"far", "Acquire while one master is 20 ms away, median", "far", regexp.MustCompile(`^(1)$`), "", "acquire p50"},
	{"far-handoff", "Hand-off to another client, all masters far away, median", "far", regexp.MustCompile(`^(\d+)ms$`), "round trip, ms", "hand-off p50"},
	{"far-together", "10 clients that start together, all masters far away: until the last has it", "far", regexp.MustCompile(`^(\d+)ms$`), "round trip, ms", "10 start together, until the last has it"},
	{"waiters", "Commands per second of 1,000 callers that wait", "waiters", regexp.MustCompile(`^(1000)$`), "", "commands"},
	{"stalls", "Longest stall while a waiting client is killed or frozen every 200 ms", "stalls", regexp.MustCompile(`^(.*)$`), "", "stall max"},
	{"fleet", "A master's CPU per second and client that waits, 300 clients on one name", "fleet", regexp.MustCompile(`^(300)$`), "", "waiting for one name: a master's CPU per client and second"},
	{"storm", "Locks per second on one name while clients start at once", "storm", regexp.MustCompile(`^(\d+)$`), "clients", "throughput"},
	{"held", "Client CPU per held lock and second", "held", regexp.MustCompile(`^(\d+)$`), "locks", "client CPU per lock and second"},
}

// palette has colours that colour-blind readers can tell apart.
var palette = map[string]color.Color{
	"redlock":       color.RGBA{R: 0x00, G: 0x72, B: 0xB2, A: 0xFF},
	"redsync-ff":    color.RGBA{R: 0xD5, G: 0x5E, B: 0x00, A: 0xFF},
	"redsync":       color.RGBA{R: 0xE6, G: 0x9F, B: 0x00, A: 0xFF},
	"redsync-ff/go": color.RGBA{R: 0xCC, G: 0x79, B: 0xA7, A: 0xFF},
	"bsm/1":         color.RGBA{R: 0x56, G: 0xB4, B: 0xE9, A: 0xFF},
	"rueidislock/1": color.RGBA{R: 0x00, G: 0x9E, B: 0x73, A: 0xFF},
	"limit":         color.RGBA{R: 0x99, G: 0x99, B: 0x99, A: 0xFF},
}

// columns returns the settings that c shows, the contenders that have the figure in any of
// them, and its unit.
func (c chart) columns(r *report) (settings, contenders []string, unit string) {
	for _, row := range r.Figures {
		if row.Scenario != c.scenario || row.Figure != c.figure || !c.settings.MatchString(row.Setting) {
			continue
		}
		unit = row.Unit
		if !slices.Contains(settings, row.Setting) {
			settings = append(settings, row.Setting)
		}
		if !slices.Contains(contenders, row.Contender) {
			contenders = append(contenders, row.Contender)
		}
	}
	return settings, contenders, unit
}

// draw writes the chart to file: bars in groups, a group for each setting.
func (c chart) draw(r *report, file string) error {
	settings, contenders, unit := c.columns(r)
	p := plot.New()
	p.Title.Text, p.Title.Padding = c.title, vg.Points(10)
	p.Y.Label.Text, p.X.Label.Text = unit, c.axis
	p.Y.Min = 0
	p.Y.Tick.Marker = plot.TickerFunc(ticks)
	// The legend is to the right of the bars, each text after its colour: text widths depend on the
	// viewer's fonts.
	p.Legend.Top, p.Legend.Left, p.Legend.XOffs, p.Legend.Padding = true, true, vg.Points(385), vg.Points(2)
	p.Add(plotter.NewGrid())
	const width = 380 // of all bars and gaps, in points
	bar := vg.Points(width / float64(len(settings)*(len(contenders)+1)))
	for i, name := range contenders {
		var values plotter.Values
		var labels plotter.XYLabels
		for k, setting := range settings {
			v := r.value(c.scenario, setting, name, c.figure)
			values = append(values, v)
			labels.XYs = append(labels.XYs, plotter.XY{X: float64(k), Y: v})
			labels.Labels = append(labels.Labels, number(v))
		}
		bars, err := plotter.NewBarChart(values, bar)
		if err != nil {
			return err
		}
		bars.Color, bars.LineStyle.Width = palette[name], 0
		bars.Offset = bar * vg.Length(float64(i)-float64(len(contenders)-1)/2)
		p.Add(bars)
		p.Legend.Add(name, bars)
		if len(settings) > 1 {
			continue
		}
		above, err := plotter.NewLabels(labels)
		if err != nil {
			return err
		}
		above.Offset.X, above.Offset.Y = bars.Offset, vg.Points(2)
		above.TextStyle[0].XAlign = draw.XCenter
		p.Add(above)
	}
	names := make([]string, len(settings))
	for i, setting := range settings {
		names[i] = c.settings.FindStringSubmatch(setting)[1]
	}
	if len(settings) == 1 {
		names[0] = ""
	}
	p.NominalX(names...)
	p.X.Min, p.X.Max = -0.6, float64(len(settings))*1.3-0.5 // room for the legend
	p.Y.Max *= 1.05
	return p.Save(vg.Points(560), vg.Points(300), file)
}

// ticks returns the default ticks, with their numbers formatted as in the tables.
func ticks(least, most float64) []plot.Tick {
	list := plot.DefaultTicks{}.Ticks(least, most)
	for i := range list {
		if list[i].Label != "" {
			list[i].Label = number(list[i].Value)
		}
	}
	return list
}

// value returns a figure of one contender, or zero if it has none.
func (r *report) value(scenario, setting, contender, figure string) float64 {
	for _, row := range r.Figures {
		if row.Scenario == scenario && row.Setting == setting && row.Contender == contender && row.Figure == figure {
			return row.Value
		}
	}
	return 0
}
