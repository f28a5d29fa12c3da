WITH stock AS (
  SELECT
    ps_partkey,
    ps_supplycost * ps_availqty AS stock_value
  FROM partsupp
  JOIN supplier ON s_suppkey = ps_suppkey
  JOIN nation ON n_nationkey = s_nationkey
  WHERE n_name = 'GERMANY'
)
SELECT
  ps_partkey,
  SUM(stock_value) AS total_value
FROM stock
GROUP BY ps_partkey
HAVING SUM(stock_value) > (SELECT SUM(stock_value) * 0.0001 FROM stock)
ORDER BY total_value DESC
