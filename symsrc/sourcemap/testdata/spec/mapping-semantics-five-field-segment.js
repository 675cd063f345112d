foo
//# sourceMappingURL=mapping-semantics-five-field-segment.js.map
