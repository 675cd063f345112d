// Package match finds the literals of many recognizers in a log in one pass.
//
//	literal.go  Literal: a text without which a line means nothing to a recognizer
//	plain.go    a line without escapes, to ask about what stands around a literal
//	words.go    Words: which readers a line may mean something to, by what they have subscribed to
//	lines.go    Lines: the lines that mean something to one of several readers
//	scan.go     Scan: the first place in a buffer where one of them stands, by four bytes of each at once
//	places.go   which four bytes of each literal are searched for, and which literals share a set
//	spread.go   the same for literals that are not in the table of places.go
//	vector*     the search with the machine's vector instructions
package match
