"foo"
//# sourceMappingURL=out-of-range-2.js.map
