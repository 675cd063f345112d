 foo
  bar
//# sourceMappingURL=mapping-semantics-relative-2.js.map
