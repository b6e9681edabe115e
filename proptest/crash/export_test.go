package crash

// Await is for the tests of the other package of this folder.
var Await = await
