  
 "Hello world"
//# sourceMappingURL=non-full-line-coverage.js.map
