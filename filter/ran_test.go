package filter_test

// ran is Options.Ran of a log whose programs were seen with every file.
func ran(string) bool { return true }

// ranAll returns it if all of them were, nil otherwise.
func ranAll(all bool) func(string) bool {
	if all {
		return ran
	}
	return nil
}
