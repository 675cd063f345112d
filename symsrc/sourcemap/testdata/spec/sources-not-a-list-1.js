//# sourceMappingURL=sources-not-a-list-1.js.map
