//# sourceMappingURL=ignore-list-valid-1.js.map
