package books

// OfParty is the question of a user's deals.
const OfParty = ofParty
