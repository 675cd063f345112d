//# sourceMappingURL=version-too-low.js.map
