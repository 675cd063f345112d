//# sourceMappingURL=version-too-high.js.map
