package main

// jsonCases are the logs of other cases as objects of JSON.
var jsonCases = []oneCase{
	{"pass-json", "plain text, as JSON", cases[0].write, bothForms},
	{"markup-json", "30 % bt frames of libc, 2,000 distinct, as JSON", cases[1].write, bothForms},
	{"frames-json", "30 % `#N addr (elf+off) (BuildId: id)` frames of libc, 2,000 distinct, as JSON", cases[2].write, bothForms},
}

// bothForms reads a log through a pipe as JSON, all of it and what holds anything, and as text.
func bothForms(log string, lib *libc) []command {
	through := func(flags string) string { return "cat " + log + " | " + ours(lib.plainDir) + flags + " >/dev/null" }
	return []command{
		{name: "qss-filter json", pipeline: through(" --format=json")},
		{name: "qss-filter frames-only", pipeline: through(" --format=json --frames-only")},
		{name: "qss-filter text", pipeline: through(""), goal: goal{times: 0.33}},
	}
}
