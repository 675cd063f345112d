foo
//# sourceMappingURL=mapping-semantics-four-field-segment.js.map
