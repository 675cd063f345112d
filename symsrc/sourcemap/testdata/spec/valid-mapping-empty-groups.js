//# sourceMappingURL=valid-mapping-empty-groups.js.map
