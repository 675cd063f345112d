 foo
 bar
//# sourceMappingURL=mapping-semantics-column-reset.js.map
