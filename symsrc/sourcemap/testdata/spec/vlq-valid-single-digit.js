               3
//# sourceMappingURL=vlq-valid-single-digit.js.map
