package main

import (
	"slices"
	"testing"
)

func TestChartsShowTrials(t *testing.T) {
	for _, c := range charts {
		t.Run(c.name, func(t *testing.T) {
			if !slices.ContainsFunc(allTrials(false), func(t trial) bool {
				return t.scenario == c.scenario && c.settings.MatchString(t.setting)
			}) {
				t.Errorf("no trial of %q has a setting like %v", c.scenario, c.settings)
			}
		})
	}
}
