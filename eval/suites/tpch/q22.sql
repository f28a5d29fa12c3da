WITH candidates AS (
  SELECT
    c_custkey,
    c_acctbal,
    SUBSTRING(c_phone, 1, 2) AS cntrycode
  FROM customer
  WHERE SUBSTRING(c_phone, 1, 2) IN ('13', '31', '23', '29', '30', '18', '17')
)
SELECT
  cntrycode,
  COUNT(*) AS numcust,
  SUM(c_acctbal) AS totacctbal
FROM candidates
WHERE c_acctbal > (SELECT AVG(c_acctbal) FROM candidates WHERE c_acctbal > 0.00)
  AND NOT EXISTS (SELECT 1 FROM orders WHERE o_custkey = c_custkey)
GROUP BY cntrycode
ORDER BY cntrycode
