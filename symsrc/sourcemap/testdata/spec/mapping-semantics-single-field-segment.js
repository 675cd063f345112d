 3
//# sourceMappingURL=mapping-semantics-single-field-segment.js.map
