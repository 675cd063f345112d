// Package mapped opens files of symbols as bytes in memory, which are read as they are wanted.
package mapped
