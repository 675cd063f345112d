package demangle

import "strings"

// cloneSuffixes are the words that compilers put after the name of a copy or a part of a function, in `f.isra.0.cold`. Where
// part is set the word says which part of a coroutine it is, so it stays in shortened names.
var cloneSuffixes = map[string]struct{ part bool }{
	"isra":       {}, // gcc -fipa-sra
	"part":       {}, // gcc -fpartial-inlining
	"cold":       {}, // gcc -freorder-functions, LLVM's hot-cold splitting
	"warm":       {}, // BOLT
	"constprop":  {}, // gcc -fipa-cp
	"clone":      {}, // gcc, before the words above
	"lto_priv":   {}, // gcc -flto
	"localalias": {}, // gcc
	"llvm":       {}, // LLVM's promotion of local names in ThinLTO
	"__uniq":     {}, // clang -funique-internal-linkage-names
	"resume":     {part: true},
	"destroy":    {part: true},
	"cleanup":    {part: true},
	"actor":      {part: true},
}

// IsCloneSuffix reports whether s, such as `.isra.0.cold`, is nothing but suffixes of copies and parts of functions, each of
// which may have numbers. The suffixes of coroutines are none, for they say which part of the function it is.
func IsCloneSuffix(s string) bool {
	words := strings.Split(s, ".")
	if words[0] != "" || len(words) < 2 {
		return false
	}
	for i, word := range words[1:] {
		suffix, known := cloneSuffixes[word]
		number := i > 0 && word != "" && isNumber(word)
		if !number && (!known || suffix.part) {
			return false
		}
	}
	return true
}

// isCloneWord reports whether word is a part of such a suffix, or of a coroutine's.
func isCloneWord(word string) bool {
	_, known := cloneSuffixes[word]
	return known || isNumber(word)
}

// isNumber reports whether s has only digits, if any.
func isNumber(s string) bool { return strings.Trim(s, "0123456789") == "" }
