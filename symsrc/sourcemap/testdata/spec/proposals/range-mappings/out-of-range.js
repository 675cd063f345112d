"foo"
//# sourceMappingURL=out-of-range.js.map
