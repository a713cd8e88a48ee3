package trial

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"example.com/redlock/internal/history"
	"example.com/redlock/internal/judge"
	"example.com/redlock/internal/picture"
)

// Conclude judges a history, draws it, and reports to out and to the folder: to report.txt and picture.html. There is
// no Report if the history could not be judged.
func Conclude(out io.Writer, folder string, h *history.History) (*judge.Report, error) {
	found, err := judge.Judge(h)
	if err != nil {
		return nil, err
	}
	report, err := os.Create(filepath.Join(folder, "report.txt"))
	if err != nil {
		return found, err
	}
	out = io.MultiWriter(out, report)
	_, _ = found.WriteTo(out)
	for _, e := range h.Events {
		if e.What == history.Mended && e.Text != "" {
			fmt.Fprintf(out, "\nfault %d, %s, at %v %s\n", e.ID, e.Fault, e.At, e.Text)
		}
	}
	page, err := os.Create(filepath.Join(folder, "picture.html"))
	if err == nil {
		err = errors.Join(picture.Write(page, h, found.Violations()), page.Close())
	}
	return found, errors.Join(err, report.Close())
}
