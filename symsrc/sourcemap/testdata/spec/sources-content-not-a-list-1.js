//# sourceMappingURL=sources-content-not-a-list-1.js.map
