  
 "Hello world"
//# sourceMappingURL=simple.js.map
