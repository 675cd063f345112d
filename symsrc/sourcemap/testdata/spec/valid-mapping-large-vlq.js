//# sourceMappingURL=valid-mapping-large-vlq.js.map
