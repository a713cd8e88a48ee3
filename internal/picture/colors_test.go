package picture

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"example.com/redlock/internal/check"
)

// TestColors: people with any color vision can tell the colors of names from one another and from those of
// violations, and all stand out from what they are drawn on, in light and in dark.
func TestColors(t *testing.T) {
	light, dark := map[string]color{}, map[string]color{}
	for _, found := range regexp.MustCompile(`--(\w+): light-dark\((#\w{6}), (#\w{6})\)`).FindAllStringSubmatch(part("page.css"), -1) {
		light[found[1]], dark[found[1]] = parse(t, found[2]), parse(t, found[3])
	}
	for mode, colors := range map[string]map[string]color{"light": light, "dark": dark} {
		marks := []string{"bad", "oddfill"}
		for n := 0; ; n++ {
			name := fmt.Sprintf("n%d", n)
			if _, ok := colors[name]; !ok {
				break
			}
			marks = append(marks, name)
		}
		if len(marks) < 7 {
			t.Fatalf("%s: there are only the colors %v", mode, marks)
		}
		for i, a := range marks {
			for _, ground := range []string{"panel", "lane"} {
				if got := contrast(colors[a], colors[ground]); got < 3 {
					t.Errorf("%s: the contrast of %s on %s is %.2f, want 3", mode, a, ground, got)
				}
			}
			for _, b := range marks[i+1:] {
				for vision, sees := range visions {
					if got := distance(sees.of(colors[a]), sees.of(colors[b])); got < 15 {
						t.Errorf("%s, %s: %s and %s are only %.1f apart, want 15", mode, vision, a, b, got)
					}
				}
			}
		}
		for _, text := range []string{"ink", "soft", "bad", "odd", "good", "accent"} {
			for _, ground := range []string{"panel", "bg", "lane"} {
				if got := contrast(colors[text], colors[ground]); got < 4.5 {
					t.Errorf("%s: the contrast of the text %s on %s is %.2f, want 4.5", mode, text, ground, got)
				}
			}
		}
	}
}

// color is linear red, green and blue.
type color [3]float64

func parse(t *testing.T, text string) (c color) {
	t.Helper()
	n, err := strconv.ParseUint(strings.TrimPrefix(text, "#"), 16, 32)
	check.OK(t, err)
	for i := range c {
		v := float64(n>>(16-8*i)&0xff) / 255
		if v <= 0.04045 {
			c[i] = v / 12.92
		} else {
			c[i] = math.Pow((v+0.055)/1.055, 2.4)
		}
	}
	return c
}

func (c color) luminance() float64 { return 0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2] }

// contrast is that of WCAG 2.
func contrast(a, b color) float64 {
	bright, dim := max(a.luminance(), b.luminance()), min(a.luminance(), b.luminance())
	return (bright + 0.05) / (dim + 0.05)
}

// vision turns a color into what somebody sees.
type vision [3][3]float64

// visions are those of Machado, Oliveira and Fernandes (2009), at full severity.
var visions = map[string]vision{
	"all":         {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	"protanope":   {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
	"deuteranope": {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
	"tritanope":   {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}},
}

func (v vision) of(c color) (seen color) {
	for i, row := range v {
		seen[i] = min(1, max(0, row[0]*c[0]+row[1]*c[1]+row[2]*c[2]))
	}
	return seen
}

// distance is that of CIE 1976, in L*a*b*.
func distance(a, b color) float64 {
	x, y := a.lab(), b.lab()
	return math.Sqrt((x[0]-y[0])*(x[0]-y[0]) + (x[1]-y[1])*(x[1]-y[1]) + (x[2]-y[2])*(x[2]-y[2]))
}

func (c color) lab() [3]float64 {
	f := func(v float64) float64 {
		if v > 0.008856 {
			return math.Cbrt(v)
		}
		return 7.787*v + 16.0/116
	}
	x := f((0.4124*c[0] + 0.3576*c[1] + 0.1805*c[2]) / 0.95047)
	y := f(c.luminance())
	z := f((0.0193*c[0] + 0.1192*c[1] + 0.9505*c[2]) / 1.08883)
	return [3]float64{116*y - 16, 500 * (x - y), 200 * (y - z)}
}
