 42; 24;
//# sourceMappingURL=mapping-semantics-relative-1.js.map
