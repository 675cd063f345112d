 1234
5678
//# sourceMappingURL=newline-semantics.js.map
