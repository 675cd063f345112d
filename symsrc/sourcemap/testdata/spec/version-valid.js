//# sourceMappingURL=version-valid.js.map
