//# sourceMappingURL=empty-string.js.map
