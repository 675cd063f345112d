package frame

import "testing"

// TestWhoWins holds that the table says who wins, for each pair of formats that both take the same part of a line of testdata/frames.txt for one
// of their frames: the one that begins first, and of those that begin at the same place the one listed first. Few pairs do.
func TestWhoWins(t *testing.T) {
	rows := Formats()
	alone := make([]*Search, len(rows))
	for i := range rows {
		alone[i] = search(t, rows[i])
	}
	type pair struct{ i, j int }
	pairs := map[pair]*Search{}
	for _, line := range samples(t) {
		found := make([]Frame, len(rows))
		for i := range rows {
			alone[i].Reset(line)
			if f := alone[i].Next(0); f != nil {
				found[i] = *f
			}
		}
		for j := range rows {
			for i := range j {
				a, b := &found[i], &found[j]
				if a.Whole.Empty() || b.Whole.Empty() || a.Whole.End <= b.Whole.Start || b.Whole.End <= a.Whole.Start || rows[i].Name == rows[j].Name {
					continue
				}
				both := pairs[pair{i, j}]
				if both == nil {
					both = search(t, rows[i], rows[j])
					pairs[pair{i, j}] = both
				}
				both.Reset(line)
				wins := rows[i].Name
				if b.Whole.Start < a.Whole.Start {
					wins = rows[j].Name
				}
				if f := both.Next(0); f == nil || f.Family != wins {
					t.Errorf("rows %d and %d, %s and %s: %q is not read by %s", i, j, rows[i].Name, rows[j].Name, line, wins)
				}
			}
		}
	}
	if t.Logf("%d pairs of formats both read a line", len(pairs)); len(pairs) < 5 {
		t.Error("too few to compare")
	}
}

// search returns a search for those formats alone.
func search(t *testing.T, formats ...Format) *Search {
	t.Helper()
	table, err := NewTable(formats...)
	if err != nil {
		t.Fatal(err)
	}
	return table.Search()
}
