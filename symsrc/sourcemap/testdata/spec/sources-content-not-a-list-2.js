//# sourceMappingURL=sources-content-not-a-list-2.js.map
